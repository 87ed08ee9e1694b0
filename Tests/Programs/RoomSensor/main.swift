import CoreBluetooth

let sensor = RoomSensor()
RunLoop.main.run()
