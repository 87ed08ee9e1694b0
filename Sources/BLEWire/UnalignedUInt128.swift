/// A number of 128 bits that is aligned to 8 octets, for the stored properties of public values.
///
/// A value with a stored `UInt128` is aligned to 16 octets, and Swift 6.3 without optimization miscompiles some tasks
/// that capture such a value: they crash (Docs/Decisions/wire-and-codecs.md#128-bits-in-halves). Values that a program
/// may capture store this type.
@usableFromInline package struct UnalignedUInt128: Hashable, Sendable {
  @usableFromInline let upperHalf: UInt64
  @usableFromInline let lowerHalf: UInt64

  @inlinable package init(_ value: UInt128) {
    upperHalf = UInt64(truncatingIfNeeded: value >> 64)
    lowerHalf = UInt64(truncatingIfNeeded: value)
  }

  @inlinable package var value: UInt128 { UInt128(upperHalf) << 64 | UInt128(lowerHalf) }
}
