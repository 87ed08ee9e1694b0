import CoreBluetooth

// doorbell [--keeps]; a line on standard input ends it: `exit` or `return`.
let doorbell = Doorbell(keepsServices: CommandLine.arguments.contains("--keeps"))
doorbell.start()
DispatchQueue.global().async {
  while let line = readLine() {
    if line == "exit" { exit(0) }
    if line == "return" { CFRunLoopStop(CFRunLoopGetMain()) }
  }
}
CFRunLoopRun()
print("returns")
