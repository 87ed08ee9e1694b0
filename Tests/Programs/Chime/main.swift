import CoreBluetooth

// chime [--restores]
let chime = Chime(arguments: CommandLine.arguments)
chime.start()
RunLoop.main.run()
