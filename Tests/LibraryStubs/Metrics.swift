// The part of swift-metrics's public interface that Docs/ServerLibraries.md uses: scripts/check-snippets
// compiles the page against it.

public final class Gauge: Sendable {
  public init(label: String, dimensions: [(String, String)] = []) {}
  public func record<DataType: BinaryInteger>(_ value: DataType) {}
}
