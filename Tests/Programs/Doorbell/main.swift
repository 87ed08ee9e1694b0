import CoreBluetooth

// doorbell [--keeps]; a line on standard input ends it: `exit` or `return`.
let doorbell = Doorbell(keepsServices: CommandLine.arguments.contains("--keeps"))
doorbell.start()
DispatchQueue.global().async {
  // Not with `readLine`: it holds the lock of `stdin` while it waits, and the end of a program waits for that with the
  // C library 2.43.
  var line = [UInt8](repeating: 0, count: 80)
  while case let count = read(0, &line, line.count), count > 0 {
    let word = String(decoding: line[..<count].filter { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    if word == "exit" { exit(0) }
    if word == "return" { CFRunLoopStop(CFRunLoopGetMain()) }
  }
}
CFRunLoopRun()
print("returns")
