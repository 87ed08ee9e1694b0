import BLEHCI
package import BLELinux
import BLERuntime
import BLETrace
import BLEWire

/// The packets of one device of a simulation, with times of the simulation: the last ones in memory, all of them in a
/// file if it has one.
package final class SimulatedTrace {
  /// The octets of packets in memory. With more, the older half is dropped.
  static let octetLimit = 16 << 20
  /// What is kept of that which has happened on the links. With more, the older half is dropped.
  static let activityLimit = 65_536

  private let clock: ManualClock
  private let octetLimit: Int
  private let activityLimit: Int
  private var file: PacketTrace?
  /// Why the file has ended before the simulation.
  package private(set) var failure: TransportError?
  /// Records of btsnoop.
  private var records: [UInt8] = []
  /// The octets at the beginning of ``records`` that ``reader`` has read.
  private var readCount = 0
  private var reader = LinkActivityReader()
  /// The attributes of the device and its peers.
  var lookup: LinkActivityReader.Lookup = { _, _, _ in nil }
  /// The number of the first of ``activities``.
  private(set) var firstActivity = 0
  private(set) var activities: [LinkActivity] = []

  /// - Parameter path: of a file, which is created or emptied; nil for none.
  init(
    at path: String?, clock: ManualClock, octetLimit: Int = octetLimit, activityLimit: Int = activityLimit
  ) throws(TransportError) {
    (self.clock, self.octetLimit, self.activityLimit) = (clock, octetLimit, activityLimit)
    guard let path else { return }
    file = try PacketTrace(at: path, now: { Self.time(of: clock) })
  }

  /// 1 January 2000, 0:00 UTC, in microseconds since 1970: each run has the same times.
  private static let beginning: Int64 = 946_684_800_000_000

  private static func time(of clock: ManualClock) -> Int64 { beginning + (clock.now - .start).wholeMicroseconds }

  func record(_ packet: Span<UInt8>, _ direction: PacketTrace.Direction) {
    if records.count + packet.count > octetLimit { drop() }
    BTSnoopFile.append(packet, direction, at: Self.time(of: clock), to: &records)
    guard failure == nil else { return }
    do throws(TransportError) { try file?.record(packet, direction) } catch { failure = error }
  }

  private func drop() {
    update()
    guard let file = try? BTSnoopFile((BTSnoopFile.header + records)[...]) else { return }
    var iterator = file.makeIterator()
    while iterator.unread.count > records.count / 2, iterator.next() != nil {}
    records = Array(iterator.unread)
    readCount = records.count
  }

  /// Reads the packets that were not read yet.
  func update() {
    guard readCount < records.count,
      let file = try? BTSnoopFile((BTSnoopFile.header + records[readCount...])[...])
    else { return }
    for record in file {
      for var activity in reader.read(record, lookup) {
        activity.time = .microseconds(record.microseconds &- Self.beginning)
        activities.append(activity)
      }
    }
    readCount = records.count
    guard activities.count > activityLimit else { return }
    firstActivity += activities.count / 2
    activities.removeFirst(activities.count / 2)
  }

  /// The packets of ATT, SMP and L2CAP that were read.
  var frames: Int { reader.frames }

  /// A btsnoop file of the packets in memory.
  var octets: [UInt8] { BTSnoopFile.header + records }

  package func flush() {
    guard failure == nil else { return }
    do throws(TransportError) { try file?.flush() } catch { failure = error }
  }
}
