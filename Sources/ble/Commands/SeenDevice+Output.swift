import BLETrace
import BLETwin
import ToolCore

extension SeenDevice {
  /// Prints the description on standard output, and on standard error what it lacks.
  func printDescription(orNamed fallback: String) {
    let (description, leftOut) = described(orNamed: fallback)
    Output.text(description.text)
    if !leftOut.isEmpty {
      Output.error("ble: a description cannot have these, which are left out: \(leftOut.joined(separator: "; "))")
    }
    if !unseenValues.isEmpty {
      Output.error(
        "ble: the values of these were not seen, and are empty when the description is served: "
          + "\(unseenValues.joined(separator: ", ")). Add \"value\" to them")
    }
  }
}
