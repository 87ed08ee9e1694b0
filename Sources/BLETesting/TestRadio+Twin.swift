import BLEAdapter
import BLEKit
import BLETwin
public import BLEVirtual
import BLEWire
import ToolCore

extension TestRadio {
  /// Adds a device that a file describes, and serves its values until the test ends: a file of `ble serve`, such as the
  /// copy of a real device that `ble twin` makes from a packet trace.
  ///
  /// ```swift
  /// try await TestRadio.run { radio in
  ///   let sensor = try await radio.device("sensor", describedBy: "Tests/sensor.json")
  ///   let device = try await radio.device("phone").adapter().connect(to: sensor.address)
  ///   #expect(try await device.read("2A19", in: "180F", as: UInt8.self) == 97)
  /// }
  /// ```
  ///
  /// The times of the file are those of the radio. Values that commands print (`"exec"`) are empty.
  ///
  /// - Parameters:
  ///   - name: its name in the log and in the names of traces, unique on the radio.
  ///   - file: the path of the description.
  ///   - controller: what its controller supports, and its faults.
  /// - Throws: ``TestRadioError/description(_:)`` with the line of the file that is wrong,
  ///   ``TestRadioError/nameInUse(_:)``, ``TestRadioError/trace(_:)``, or `BLEError` if it cannot be served.
  public func device(
    _ name: String, describedBy file: String,
    controller: VirtualControllerConfiguration = VirtualControllerConfiguration()
  ) async throws -> TestDevice {
    let description: ServiceDescription
    do throws(ToolError) { description = try ServiceDescription(file: file) } catch {
      throw TestRadioError.description("\(error)")
    }
    var options = AdapterOptions()
    description.apply(to: &options, identity: ServiceDescription.identity(of: name))
    let device = try await device(name, options, controller: controller)
    let (clock, executor) = (clock, executor)
    var environment = ServedValues.Environment()
    let beginning = clock.now
    environment.clock = WaitClock(
      executor: executor, sleep: { try await clock.sleep(for: $0) }, now: { beginning.duration(to: clock.now) })
    let values = ServedValues(description, environment)
    let adapter = try await device.adapter()
    try await values.publish(on: adapter)
    let connections = adapter.connections
    keep(
      Task(executorPreference: executor) {
        for await client in connections {
          Task(executorPreference: executor) { await values.serve(client) }
        }
      })
    keep(Task(executorPreference: executor) { try? await description.advertise(on: adapter) })
    return device
  }
}
