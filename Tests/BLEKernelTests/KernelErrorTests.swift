import BLELinux
import Glibc
import Testing

@testable import BLEKernel

@Suite struct KernelErrorTests {
  @Test(arguments: [
    (EAFNOSUPPORT, TransportError.Kind.unavailable, Int32(69), "this kernel has no Bluetooth"),
    (EPERM, .noPermission, 77, "sudo setcap 'cap_net_raw,cap_net_admin+eip' /"),
    (EBUSY, .busy, 75, "another program uses the adapter"),
    (ENODEV, .unavailable, 69, "Plug it in"),
    (ENOMEM, .inputOutput, 74, "the adapter cannot be used"),
  ])
  func errorsOfTheKernelHaveARemedy(number: Int32, kind: TransportError.Kind, exitCode: Int32, part: String) {
    let failing = SystemCalls { _ in number }
    let shared = #expect(throws: TransportError.self) {
      var port = try AdapterPort<KernelAdapter>(.first, named: "linux", through: failing)
      try port.open()
    }
    let taken = #expect(throws: TransportError.self) {
      var port = try AdapterPort<UserChannel>(.index(0), named: "hci-socket:0", through: failing)
      try port.open()
    }
    for error in [shared, taken] {
      #expect(error?.kind == kind && error?.exitCode == exitCode)
      #expect("\(error as Any)".contains(part))
    }
  }
}
