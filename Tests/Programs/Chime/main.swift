import CoreBluetooth

// chime [--restores | --returns [--forgets]]
let chime = Chime(arguments: CommandLine.arguments)
chime.start()
RunLoop.main.run()
