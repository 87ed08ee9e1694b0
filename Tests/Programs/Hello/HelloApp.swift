import CoreBluetooth

@main @MainActor struct HelloApp {
  static let hello = Hello()

  static func main() {
    hello.start()
    RunLoop.main.run()
  }
}
