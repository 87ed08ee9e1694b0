import CoreBluetooth

let reader = RoomReader()
dispatchMain()
