# The layers as Embedded Swift: a module of each in $(OUT), for $(TRIPLE). A layer has no object file: a program is compiled with what
# it uses of them. A Makefile that includes this file has set ROOT, OUT and TRIPLE, and may have set FEATURES, more flags of the
# compiler, and OMIT, the parts of the host that the program leaves out.

SWIFTC ?= swiftc
TOOLCHAIN = $(dir $(shell readlink -f $$(command -v $(SWIFTC))))
EMBEDDED = $(TOOLCHAIN)../lib/swift/embedded

# The function sections let the linker leave out what a program does not call. The incremental code generator of 6.3 loses symbols.
FLAGS := -target $(TRIPLE) -enable-experimental-feature Embedded -wmo -parse-as-library -Osize -swift-version 6 \
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault \
  -enable-upcoming-feature MemberImportVisibility $(FEATURES) \
  -Xfrontend -function-sections -Xfrontend -disable-incremental-llvm-codegen -I $(OUT)

# A part that is left out is a folder of Sources/*/Omitted. Each file there takes the place of the file of the same name.
omitted = $(wildcard $(foreach part,$(OMIT),$(ROOT)/Sources/$(1)/Omitted/$(part)/*.swift))

# The primitives of a firmware are its own: libcrypto's stay out.
sources = $(omitted) $(filter-out %/LibCrypto.swift %/LibCrypto+P256.swift %/LibCrypto+SecureChannel.swift \
  $(addprefix %/,$(notdir $(omitted))), $(wildcard $(ROOT)/Sources/$(1)/*.swift $(ROOT)/Sources/$(1)/*/*.swift))

# $(call layer,MODULE,MODULES THAT IT IMPORTS,SOURCES IF NOT ALL)
define layer
$(OUT)/$(1).swiftmodule: $(or $(3),$(call sources,$(1))) $(2:%=$(OUT)/%.swiftmodule) $(OUT)/omitted | $(OUT)
	$(SWIFTC) $$(FLAGS) -package-name BluetoothLE -module-name $(1) -emit-module -emit-module-path $$@ \
	  $(or $(3),$(call sources,$(1)))
endef
$(eval $(call layer,BLEWire,))
$(eval $(call layer,BLECrypto,))
$(eval $(call layer,BLEHCI,BLEWire))
$(eval $(call layer,BLEGAP,BLEWire))
$(eval $(call layer,BLEL2CAP,BLEWire))
$(eval $(call layer,BLEATT,BLEWire))
$(eval $(call layer,BLEGATT,BLEATT BLEWire))
$(eval $(call layer,BLESMP,BLECrypto BLEWire))
$(eval $(call layer,BLEHost,BLEATT BLECrypto BLEGATT BLEHCI BLEL2CAP BLESMP BLEWire))
$(eval $(call layer,BLEPeripheral,BLEATT BLECrypto BLEGAP BLEGATT BLEHCI BLEHost BLESMP BLEWire))

$(OUT):
	mkdir -p $@

# It changes when other parts are left out.
.PHONY: always
$(OUT)/omitted: always | $(OUT)
	@echo '$(OMIT)' | cmp -s - $@ || echo '$(OMIT)' > $@
