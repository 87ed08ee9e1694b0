import BLELinux
import Glibc
import Testing

@testable import BLEKernel

@Suite struct KernelErrorTests {
  @Test(arguments: [
    (EAFNOSUPPORT, TransportError.Kind.unavailable, Int32(69), "this kernel has no Bluetooth"),
    (EPERM, .noPermission, 77, "sudo setcap 'cap_net_raw,cap_net_admin+eip' /"),
    (EBUSY, .busy, 75, "another program holds the adapter"),
    (ENODEV, .unavailable, 69, "plug it in"),
    (ENOMEM, .inputOutput, 74, "the adapter cannot be used"),
  ])
  func theKernelsStackIsRefusedWithAReason(number: Int32, kind: TransportError.Kind, exitCode: Int32, part: String) {
    for mode in [KernelPort.Mode.shared(.first), .userChannel(index: 0)] {
      let error = #expect(throws: TransportError.self) {
        _ = try KernelPort.open(mode, named: "linux", through: SystemCalls { _ in number })
      }
      #expect(error?.kind == kind && error?.exitCode == exitCode)
      #expect("\(error as Any)".contains(part))
    }
  }
}
