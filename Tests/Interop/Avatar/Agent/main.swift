// avatar-agent --transport SPEC --address public|random --snoop FILE
//
// Managers of both kinds on one adapter, for pandora_server.py: each line of standard input is a command, each of
// standard output an answer or an event, all in JSON (Messages.swift). It ends with its standard input. Bonds are in
// memory.

import BluetoothLE

let encoder = JSONEncoder()

/// Prints a line at once.
@MainActor func say(_ message: Message) {
  guard var line = try? encoder.encode(message) else { return }
  line.append(UInt8(ascii: "\n"))
  try? FileHandle.standardOutput.write(contentsOf: line)
}

let words = CommandLine.arguments
guard words.count == 7, words[1] == "--transport", words[3] == "--address", words[5] == "--snoop" else {
  FileHandle.standardError.write(
    Data("usage: avatar-agent --transport SPEC --address public|random --snoop FILE\n".utf8))
  exit(64)
}
var options = AdapterOptions(transport: words[2], snoop: words[6])
options.address = words[4] == "random" ? .random : .controller
options.pairing.capability = .keyboardDisplay
options.pairing.storage = .memory
options.pairing.asksConsent = true
options.pairing.pairsOnDemand = false
let agent = Agent(options)

Thread.detachNewThread {
  let decoder = JSONDecoder()
  while let line = nextLine() {
    guard let command = try? decoder.decode(Command.self, from: Data(line.utf8)) else { continue }
    DispatchQueue.main.async { agent.perform(command) }
  }
  DispatchQueue.main.async {
    Manager.shutDownAll()
    exit(0)
  }
}
dispatchMain()
