// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Dispatch

// Names of Apple's Dispatch that programs use without an import of their own, and that Dispatch on Linux does not have.

/// A queue, under its name of C.
public typealias dispatch_queue_t = DispatchQueue
/// A group, under its name of C.
public typealias dispatch_group_t = DispatchGroup
/// A semaphore, under its name of C.
public typealias dispatch_semaphore_t = DispatchSemaphore
/// A closure that a queue runs, under its name of C.
public typealias dispatch_block_t = () -> Void

/// The nanoseconds of a second.
public let NSEC_PER_SEC: UInt64 = 1_000_000_000
/// The nanoseconds of a millisecond.
public let NSEC_PER_MSEC: UInt64 = 1_000_000
/// The nanoseconds of a microsecond.
public let NSEC_PER_USEC: UInt64 = 1_000
/// The microseconds of a second.
public let USEC_PER_SEC: UInt64 = 1_000_000
/// The milliseconds of a second.
public let MSEC_PER_SEC: UInt64 = 1_000
