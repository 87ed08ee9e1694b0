import BLEKit
import BLELinux
import BLEReplay
import BLETrace
public import BLEWire

extension TestRadio {
  /// Repeats the session of a central, which a packet trace has, against a device of this radio, and compares what the
  /// device sends: a report with a trace becomes a test.
  ///
  /// ```swift
  /// let replay = try await radio.replay("report.btsnoop", from: phone, against: sensor)
  /// #expect(replay.differences.isEmpty, "\(replay)")
  /// ```
  ///
  /// The central sends the ATT requests and commands of the trace as they are, in their order and with their pauses, on
  /// a link of its own, and encrypts the link where the recorded one was. Responses are compared octet by octet; the
  /// values that the device sends by itself are compared for each attribute, as a sequence. Requests name the recorded
  /// handles, as those of a central that has kept them. A pairing that is not Just Works needs
  /// ``/BLEKit/Adapter/pairingRequests`` of the central.
  ///
  /// - Parameters:
  ///   - file: btsnoop, pcap, pcapng or PacketLogger (`.pklg`), taken at the central or at the peripheral.
  ///   - session: the link of the trace, by its place from 1 on; nil for the only one with requests.
  ///   - central: the device that sends the requests. It has no link to the other one.
  ///   - peripheral: the device with the program under test, which advertises.
  ///   - ignored: the types of attributes whose values are not compared, because they are random or measured.
  ///   - longestPause: longer pauses of the trace are shortened to it.
  /// - Throws: ``TestRadioError/trace(_:)`` for a file without a session, ``/BLEKit/BLEError`` without a connection.
  public func replay(
    _ file: String, session: Int? = nil, from central: TestDevice, against peripheral: TestDevice,
    ignoring ignored: Set<BluetoothUUID> = [], longestPause: Duration = .seconds(60)
  ) async throws -> ReplayReport {
    let recorded = try Self.session(session, of: file)
    var options = ReplayOptions()
    (options.ignoredTypes, options.longestPause) = (ignored, longestPause)
    let adapter = try await central.adapter()
    return ReplayReport(try await Replay(recorded, options).run(on: adapter, against: peripheral.address))
  }

  /// The session of a file.
  private static func session(_ number: Int?, of file: String) throws -> RecordedSession {
    do {
      var (records, recorder) = (TraceFile(), SessionRecorder(choosing: number))
      records.append(try Files.octets(of: file, atMost: longestTrace)[...])
      records.end()
      while let record = try records.next() { recorder.add(record) }
      return try recorder.finish()
    } catch let error as SystemError {
      throw TestRadioError.trace("\(file) cannot be read: \(error)")
    } catch {
      throw TestRadioError.trace("\(file): \(error)")
    }
  }

  /// The octets of a trace that is repeated.
  static let longestTrace = 256 << 20
}

/// The outcome of ``TestRadio/replay(_:session:from:against:ignoring:longestPause:)``.
public struct ReplayReport: Sendable, CustomStringConvertible {
  /// What the device did in another way than in the trace: the packet of the trace, the request and its attribute, the
  /// recorded value and the new one.
  public let differences: [String]
  /// What was not repeated or not compared, and what explains differences.
  public let notes: [String]
  /// The requests and commands that were repeated, and the values that the device sent by itself in the trace.
  public let requestCount: Int
  /// Those values.
  public let valueCount: Int
  /// A line with the counts, then the differences, then the notes.
  public let description: String

  init(_ result: ReplayResult) {
    let more = result.furtherDifferences
    differences = result.differences.map(\.description) + (more > 0 ? ["and \(more) more differences"] : [])
    (notes, description) = (result.notes, result.description)
    (requestCount, valueCount) = (result.requestCount + result.commandCount, result.valueCount)
  }
}
