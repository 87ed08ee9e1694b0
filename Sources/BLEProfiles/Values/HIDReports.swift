/// A report of a keyboard: the modifiers and up to six keys that are down, eight octets (USB HID 1.11, B.1).
///
/// A key that was sent is down until a report without it is sent.
///
/// ```swift
/// for report in KeyboardReport.typing("Hi!") { try await subscriber.send(report) }
/// ```
public struct KeyboardReport: ProfileValue {
  /// The modifiers that are down.
  public var modifiers: Modifiers = []
  /// The keys that are down, at most six; others are not sent. Zeros in a received report are omitted.
  public var keys: [Key] = []

  /// The modifiers of a keyboard.
  public struct Modifiers: AssignedBits {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Left Control.
    public static let leftControl = Self(rawValue: 0x01)
    /// Left Shift.
    public static let leftShift = Self(rawValue: 0x02)
    /// Left Alt.
    public static let leftAlt = Self(rawValue: 0x04)
    /// Left GUI.
    public static let leftGUI = Self(rawValue: 0x08)
    /// Right Control.
    public static let rightControl = Self(rawValue: 0x10)
    /// Right Shift.
    public static let rightShift = Self(rawValue: 0x20)
    /// Right Alt.
    public static let rightAlt = Self(rawValue: 0x40)
    /// Right GUI.
    public static let rightGUI = Self(rawValue: 0x80)

    public static let names: [Self: StaticString] = [
      .leftControl: "Left Control", .leftShift: "Left Shift", .leftAlt: "Left Alt", .leftGUI: "Left GUI",
      .rightControl: "Right Control", .rightShift: "Right Shift", .rightAlt: "Right Alt", .rightGUI: "Right GUI",
    ]
  }

  /// A usage of the Keyboard/Keypad page (HID Usage Tables, 0x07).
  public struct Key: AssignedNumber {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Keyboard a and A.
    public static let a = Self(rawValue: 0x04)
    /// Keyboard Return.
    public static let enter = Self(rawValue: 0x28)
    /// Keyboard Escape.
    public static let escape = Self(rawValue: 0x29)
    /// Keyboard Delete (Backspace).
    public static let backspace = Self(rawValue: 0x2A)
    /// Keyboard Tab.
    public static let tab = Self(rawValue: 0x2B)
    /// Keyboard Spacebar.
    public static let space = Self(rawValue: 0x2C)
    /// Keyboard RightArrow.
    public static let right = Self(rawValue: 0x4F)
    /// Keyboard LeftArrow.
    public static let left = Self(rawValue: 0x50)
    /// Keyboard DownArrow.
    public static let down = Self(rawValue: 0x51)
    /// Keyboard UpArrow.
    public static let up = Self(rawValue: 0x52)

    public static let spaceName: StaticString = "key"
    public static let names: [Self: StaticString] = [
      .enter: "Return", .escape: "Escape", .backspace: "Backspace", .tab: "Tab", .space: "Spacebar", .right: "Right",
      .left: "Left", .down: "Down", .up: "Up",
    ]
  }

  /// No key is down.
  public init() {}

  /// Keys that are down.
  public init(modifiers: Modifiers = [], keys: [Key]) { (self.modifiers, self.keys) = (modifiers, keys) }

  /// The key that types a character on a keyboard with the US layout; nil for a character that the layout does not
  /// have.
  public init?(typing character: Character) {
    guard let octet = character.asciiValue else { return nil }
    let (key, shifted): (UInt8, Bool)
    switch octet {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): (key, shifted) = (octet - UInt8(ascii: "a") + 0x04, false)
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): (key, shifted) = (octet - UInt8(ascii: "A") + 0x04, true)
    case UInt8(ascii: "1")...UInt8(ascii: "9"): (key, shifted) = (octet - UInt8(ascii: "1") + 0x1E, false)
    default:
      guard let index = Self.symbols.firstIndex(where: { $0.0 == character || $0.1 == character }) else { return nil }
      (key, shifted) = (Self.symbols[index].2, Self.symbols[index].1 == character)
    }
    self.init(modifiers: shifted ? .leftShift : [], keys: [Key(rawValue: key)])
  }

  /// Characters without Shift and with it, and their keys.
  private static let symbols: [(Character, Character?, UInt8)] = [
    ("1", "!", 0x1E), ("2", "@", 0x1F), ("3", "#", 0x20), ("4", "$", 0x21), ("5", "%", 0x22), ("6", "^", 0x23),
    ("7", "&", 0x24), ("8", "*", 0x25), ("9", "(", 0x26), ("0", ")", 0x27), ("\n", nil, 0x28), ("\t", nil, 0x2B),
    (" ", nil, 0x2C), ("-", "_", 0x2D), ("=", "+", 0x2E), ("[", "{", 0x2F), ("]", "}", 0x30), ("\\", "|", 0x31),
    (";", ":", 0x33), ("'", "\"", 0x34), ("`", "~", 0x35), (",", "<", 0x36), (".", ">", 0x37), ("/", "?", 0x38),
  ]

  /// The reports that type a text: each key down, then none. Characters that the layout does not have are omitted.
  public static func typing(_ text: String) -> [Self] {
    text.compactMap { Self(typing: $0) }.flatMap { [$0, Self()] }
  }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Modifier keys", &modifiers)
    var reserved: UInt8 = 0
    try field.integer("Reserved", &reserved)
    var codes = Bytes(keys.prefix(6).map { $0.rawValue })
    try field.octets("Keycodes", count: 6, &codes)
    keys = codes.filter { $0 != 0 }.map { Key(rawValue: $0) }
  }
}

/// The lights of a keyboard, one octet (USB HID 1.11, B.1).
public struct KeyboardLEDs: AssignedBits, ProfileValue {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// No lights.
  public init() { rawValue = 0 }
  /// Num Lock.
  public static let numLock = Self(rawValue: 0x01)
  /// Caps Lock.
  public static let capsLock = Self(rawValue: 0x02)
  /// Scroll Lock.
  public static let scrollLock = Self(rawValue: 0x04)
  /// Compose.
  public static let compose = Self(rawValue: 0x08)
  /// Kana.
  public static let kana = Self(rawValue: 0x10)

  public static let names: [Self: StaticString] = [
    .numLock: "Num Lock", .capsLock: "Caps Lock", .scrollLock: "Scroll Lock", .compose: "Compose", .kana: "Kana",
  ]

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("LEDs", &rawValue)
  }
}

/// A report of a remote control: the key that is down, two octets.
public struct ConsumerReport: ProfileValue {
  /// The key that is down; ``Usage/none`` for none.
  public var usage = Usage.none

  /// A usage of the Consumer page (HID Usage Tables, 0x0C).
  public struct Usage: AssignedNumber {
    public var rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// No key.
    public static let none = Self(rawValue: 0)
    /// Scan Next Track.
    public static let nextTrack = Self(rawValue: 0xB5)
    /// Scan Previous Track.
    public static let previousTrack = Self(rawValue: 0xB6)
    /// Stop.
    public static let stop = Self(rawValue: 0xB7)
    /// Play/Pause.
    public static let playPause = Self(rawValue: 0xCD)
    /// Mute.
    public static let mute = Self(rawValue: 0xE2)
    /// Volume Increment.
    public static let volumeUp = Self(rawValue: 0xE9)
    /// Volume Decrement.
    public static let volumeDown = Self(rawValue: 0xEA)

    public static let spaceName: StaticString = "consumer usage"
    public static let names: [Self: StaticString] = [
      .none: "None", .nextTrack: "Scan Next Track", .previousTrack: "Scan Previous Track", .stop: "Stop",
      .playPause: "Play/Pause", .mute: "Mute", .volumeUp: "Volume Increment", .volumeDown: "Volume Decrement",
    ]
  }

  /// No key is down.
  public init() {}

  /// A key that is down.
  public init(_ usage: Usage) { self.usage = usage }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.value("Usage", &usage)
  }
}
