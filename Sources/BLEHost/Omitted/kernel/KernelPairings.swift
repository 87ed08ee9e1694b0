import BLESMP
import BLEWire

/// A host that has the controller to itself has no pairings of a kernel: there is no value of this type.
enum KernelPairings: Sendable {
  init?() { nil }

  func receive(_ report: KernelReport, _ context: KernelContext, into effects: inout [Effect<KernelEffect>]) {}
  func linkEnded(_ link: KernelLinkFacts, _ context: KernelContext, into effects: inout [Effect<KernelEffect>]) {}
  func keyAccepted(_ identity: DeviceAddress) {}
  func restore(_ context: KernelContext, into effects: inout [Effect<KernelEffect>]) {}
  func settingsChanged(_ context: KernelContext, into effects: inout [Effect<KernelEffect>]) {}
  func loadKeys(_ context: KernelContext, into effects: inout [Effect<KernelEffect>]) {}
  func bondRemoved(_ identity: DeviceAddress, into effects: inout [Effect<KernelEffect>]) {}
  func removeKeys(of identity: DeviceAddress, _ context: KernelContext, into effects: inout [Effect<KernelEffect>]) {}
}
