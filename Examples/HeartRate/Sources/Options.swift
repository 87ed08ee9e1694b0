import BluetoothLE

/// The command line.
struct Options {
  enum Role: String { case both, peripheral, central }

  struct Help: Error { let text: String }

  var role = Role.both
  var transport: String?
  var snoop: String?
  var beats = 5
  var rounds = 1

  static let usage = """
    heart-rate [--role both|peripheral|central] [--transport SPEC] [--snoop FILE] [--beats N] [--rounds N]

      --role both        both ends on a radio simulated in this process (the default)
      --role peripheral  the monitor alone: ends when a central has come, listened and gone
      --role central     the collector alone: takes the first monitor it finds
      --transport SPEC   the controller of a single role, e.g. tcp-client:127.0.0.1:6402, serial:/dev/ttyACM0,1000000
      --snoop FILE       the packet trace; demo.btsnoop where both ends are here
      --beats N          how many heart beats are told, 1 to 1000 (5)
      --rounds N         how often the central comes, 1 to 1000 (1)
    """

  init(_ arguments: some Sequence<String>) throws {
    var rest = arguments.makeIterator()
    while let argument = rest.next() {
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      let name = parts.first ?? ""
      func value() throws -> String {
        guard let value = parts.count == 2 ? parts[1] : rest.next(), !value.isEmpty else {
          throw Disappointment("\(name) needs a value\n\(Self.usage)")
        }
        return value
      }
      func number() throws -> Int {
        let text = try value()
        guard let number = Int(text), (1...1000).contains(number) else {
          throw Disappointment("\(name) takes a number from 1 to 1000, not \(text)")
        }
        return number
      }
      switch name {
      case "--role":
        let text = try value()
        guard let role = Role(rawValue: text) else { throw Disappointment("no such role: \(text)\n\(Self.usage)") }
        self.role = role
      case "--transport": transport = try value()
      case "--snoop": snoop = try value()
      case "--beats": beats = try number()
      case "--rounds": rounds = try number()
      case "--help", "-h": throw Help(text: Self.usage)
      default: throw Disappointment("no such option: \(argument)\n\(Self.usage)")
      }
    }
    if role == .both {
      guard transport == nil else {
        throw Disappointment(
          "--transport goes with --role peripheral or --role central: both ends are on virtual radios")
      }
      snoop = snoop ?? "demo.btsnoop"
    }
  }
}
