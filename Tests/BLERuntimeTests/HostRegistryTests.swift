import BLEHost
import BLEKernel
import BLELinux
import BLEWire
import Synchronization
import Testing

@testable import BLERuntime

/// Which strings mean one adapter, and what becomes of who uses two of them.
@Suite struct HostRegistryTests {
  private static let address = BD_ADDR(0xF0_F1_F2_F3_F4_F5)

  /// A kernel that has one adapter, hci0, or none.
  private final class Kernel: Sendable {
    private let isThere = Mutex(true)
    func take() { isThere.withLock { $0 = false } }

    func find(_ transport: TransportSpec) -> HostKey? {
      switch transport {
      case .linux(.address(let address)): return .adapter(address)
      case .linux(.first), .linux(.index(0)), .hciSocket(0):
        return isThere.withLock { $0 } ? .adapter(HostRegistryTests.address) : nil
      default: return nil
      }
    }
  }

  private let kernel = Kernel()
  private let registry: HostRegistry

  init() {
    let kernel = kernel
    registry = HostRegistry(find: kernel.find)
  }

  private func host(_ transport: String) throws(TransportError) -> Host {
    let spec = try TransportSpec(parsing: transport)
    return try registry.host(of: spec, patience: .zero) { () throws(TransportError) in
      do throws(SystemError) {
        let mailbox = try HostMailbox<HostCommand, HostEvent>(commandLimit: 1, eventBacklogLimit: 1)
        return Host(spec, mailbox: mailbox, listeningPort: nil, tracePath: nil)
      } catch { throw TransportError(.inputOutput, at: transport, "no mailbox", cause: error) }
    }
  }

  @Test func givesOneHostForEveryNameOfAnAdapter() throws {
    let first = try host("linux")
    #expect(try host("linux:hci0") === first)
    #expect(try host("linux:F0:F1:F2:F3:F4:F5") === first)
    #expect(try host("linux:hci1") !== first)
    #expect(try host("virtual") !== first)
  }

  @Test func keepsTheHostWhileItsAdapterIsAway() throws {
    let first = try host("linux:hci0")
    _ = try host("linux")
    kernel.take()
    for name in ["linux:hci0", "linux", "linux:F0:F1:F2:F3:F4:F5"] { #expect(try host(name) === first) }
  }

  @Test(arguments: [
    ("linux:hci0", "hci-socket:0"), ("hci-socket:0", "linux:hci0"), ("hci-socket:0", "linux:F0:F1:F2:F3:F4:F5"),
  ])
  func rejectsTheOtherKindOfTransportOfAnAdapter(first: String, second: String) throws {
    let holder = try host(first)
    // The kernel does not list what was taken from it.
    if first == "hci-socket:0" { kernel.take() }
    let error = try #require(throws: TransportError.self) { _ = try host(second) }
    #expect(error.kind == .busy && error.place == second)
    #expect("\(error)".contains("this process already uses the adapter as \(first)"))
    #expect(try host(first) === holder)
  }

  @Test func allowsTheOtherKindOfTransportAfterTheEnd() throws {
    var first: Host? = try host("linux:hci0")
    #expect(try host("linux:hci0") === first)
    first = nil
    #expect("\(try host("hci-socket:0").transport)" == "hci-socket:0")
  }
}
