import BLEHCI
import BLEHost
import Testing

@testable import BLEAdapter

@Suite struct ConnectionTimingTests {
  /// 24 to 40 units of 1.25 ms: TGAP(initial_conn_interval) (Vol 3, Part C, Appendix A).
  @Test func defaultIntervalIs30To50Milliseconds() {
    #expect(HCI.ConnectionParameters.defaultInterval == 24...40)
    #expect(ConnectionParameters().interval == 24...40)
    #expect(ConnectionPriority.balanced.parameters(.central, LinkPackets()) == ConnectionParameters())
    #expect(ConnectionParameterRequest().parameters == ConnectionParameters())
  }
}
