import BLEAdapter
import BLEGAP
import BLEHost
import Testing

/// The initializers of options show their defaults as durations; the host has them in the units of HCI.
struct DefaultTimingTests {
  @Test func aRequestHasTheHostsConnectionParameters() {
    #expect(ConnectionParameterRequest().parameters == ConnectionParameters())
  }

  @Test func advertisingHasTheHostsInterval() throws {
    let payload = try Advertisement().payload(under: .full)
    let intent = AdvertisingOptions().intent(payload, of: Advertisement())
    #expect(intent?.interval == AdvertisingIntent(data: [], scanResponse: []).interval)
  }
}
