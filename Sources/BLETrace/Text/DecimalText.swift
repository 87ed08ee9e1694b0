extension Double {
  /// The number rounded to the given number of digits after the point, with all of them: `21.50`. A number that is not
  /// finite, or is too large for them, has the form of the standard library.
  ///
  /// - Parameter decimals: at least 1.
  package func text(decimals: Int) -> String {
    let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
    guard let scaled = Int64(exactly: (magnitude * scale).rounded()) else { return description }
    let digits = String(scaled)
    let text = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
    return "\(self < 0 && scaled > 0 ? "-" : "")\(text.dropLast(decimals)).\(text.suffix(decimals))"
  }
}
