import BluetoothLE

/// Asks for six digits on the terminal; nil for anything else.
func askForPasskey() async -> UInt32? {
  FileHandle.standardOutput.write(Data("The six digits that the device displays: ".utf8))
  // A read waits, so it has a thread of its own: the tasks of the program go on.
  let line = await withCheckedContinuation { answer in
    Thread.detachNewThread { answer.resume(returning: FileHandle.standardInput.availableData) }
  }
  let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  return text.wholeMatch(of: /[0-9]{6}/) != nil ? UInt32(text) : nil
}
