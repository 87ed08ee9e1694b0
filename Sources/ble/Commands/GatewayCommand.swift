import BLELinux
import CLinux
import Glibc
import ToolCore

/// `ble gateway`: starts the program `ble-gateway`, which is a package of its own because it needs a library for MQTT.
/// Its command line is checked here, and its help is available here even if it is not installed.
enum GatewayCommand {
  static let declaration = GatewayDeclaration.command(invocation: "ble gateway", run: run)

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    guard let path = path() else {
      throw ToolError(
        description: "ble-gateway is not installed. Run: make gateway, or install the package ble-gateway", status: 69)
    }
    let words = [path] + arguments.words
    var pointers: [UnsafeMutablePointer<CChar>?] = words.map { unsafe strdup($0) } + [nil]
    // The next program would also ignore or block the signals that this program ignores or this thread blocks.
    for number in [SIGINT, SIGTERM, SIGPIPE] { signal(number, SIG_DFL) }
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    unsafe execv(path, &pointers)
    throw ToolError(description: "\(path) cannot be started: \(ToolError.text(ofError: errno))", status: 71)
  }

  /// The program beside this one, otherwise the first in PATH.
  private static func path() -> String? {
    let own = Processes.ownPath ?? ""
    let folders =
      [own.lastIndex(of: "/").map { own[..<$0] } ?? "."]
      + (Environment.value("PATH") ?? "").split(separator: ":")
    return folders.map { "\($0)/ble-gateway" }.first { access($0, X_OK) == 0 }
  }
}
