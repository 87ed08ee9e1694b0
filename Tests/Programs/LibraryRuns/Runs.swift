import CoreBluetooth

/// Runs one of the libraries: promises, tasks, publishers or mocks.
@main @MainActor struct Runs {
  /// What a run needs for as long as the program lives.
  static var run: AnyObject?

  static func main() {
    switch CommandLine.arguments.last {
    case "promises": run = runPromises()
    case "tasks": runTasks()
    case "publishers":
      let publishers = PublisherRun()
      publishers.start()
      run = publishers
    default:
      MockRun().run()
      exit(0)
    }
    RunLoop.main.run()
  }
}
