package import BLEAdapter
import BLEGATT
import BLEHost
package import BLETesting
import BLEVirtual

package typealias ModelRadio = HostSimulation
package typealias ModelClient = SimulatedClient

extension HostSimulation {
  /// Two devices with their hosts.
  ///
  /// - Parameters:
  ///   - pairing: how each device pairs.
  ///   - maximumMTU: the largest ATT_MTU of the second device, in octets.
  package convenience init(
    seed: UInt64, seam: Seam = Seam(), pairing: [PairingOptions] = [PairingOptions(), PairingOptions()],
    maximumMTU: Int = 517
  ) {
    self.init(seed: seed, pacing: .connectionEvents(packetsPerEvent: 4), seam: seam)
    for index in 0...1 {
      var configuration = HostConfiguration()
      configuration.awaitsBondStorage = true
      if index == 1 { configuration.serverLimits.maximumMTU = maximumMTU }
      _ = addDevice(configuration, AdapterOptions(pairing: pairing[index]))
    }
  }
}
