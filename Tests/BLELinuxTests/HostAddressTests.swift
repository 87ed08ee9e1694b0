import Testing

@testable import BLELinux

@Suite struct HostAddressTests {
  @Test(arguments: [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.2", "169.254.3.4", "::1", "fd00::1", "fe80::1",
    "fe80::1%eth0", "::ffff:192.168.1.2",
  ])
  func addressesOfPrivateNetworks(text: String) { #expect(HostAddress(text)?.isPrivate == true) }

  @Test(arguments: [
    "0.0.0.0", "8.8.8.8", "172.15.0.1", "172.32.0.1", "192.169.0.1", "11.0.0.1", "::", "2001:db8::1", "ff02::1",
    "::ffff:8.8.8.8", "::2",
  ])
  func otherAddresses(text: String) { #expect(HostAddress(text)?.isPrivate == false) }

  @Test(arguments: ["localhost", "", "1.2.3", "1.2.3.4.5", "_", "fe80:::1"])
  func namesAreNoAddresses(text: String) { #expect(HostAddress(text) == nil) }
}
