// The part of swift-log's public interface that Docs/ServerLibraries.md uses: scripts/check-snippets
// compiles the page against it.

public struct Logger: Sendable {
  public typealias Metadata = [String: MetadataValue]

  public enum Level: String, Sendable, CaseIterable { case trace, debug, info, notice, warning, error, critical }

  public enum MetadataValue: ExpressibleByStringInterpolation, Sendable {
    case string(String)
    public init(stringLiteral value: String) { self = .string(value) }
  }

  public struct Message: ExpressibleByStringInterpolation, Sendable {
    public init(stringLiteral value: String) {}
  }

  public init(label: String) {}

  public func log(
    level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil,
    source: @autoclosure () -> String? = nil, file: String = #fileID, function: String = #function, line: UInt = #line
  ) {}
}
