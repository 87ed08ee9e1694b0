// The part of swift-service-lifecycle's public interface that Docs/ServerLibraries.md uses: scripts/check-snippets
// compiles the page against it.

public import Logging

public protocol Service: Sendable {
  func run() async throws
}

public struct UnixSignal: Sendable {
  public static let sigint = UnixSignal()
  public static let sigterm = UnixSignal()
}

public actor ServiceGroup {
  public init(
    services: [any Service], gracefulShutdownSignals: [UnixSignal] = [], cancellationSignals: [UnixSignal] = [],
    logger: Logger
  ) {}

  public func run() async throws {}
}

public func cancelWhenGracefulShutdown<T: Sendable>(
  _ operation: @Sendable @escaping () async throws -> T
) async rethrows -> T {
  try await operation()
}
