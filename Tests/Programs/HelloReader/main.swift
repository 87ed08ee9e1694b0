import CoreBluetooth

let reader = HelloReader()
reader.start()
dispatchMain()
