package main

// descriptor is a FileDescriptorProto.
type descriptor struct {
	data     []byte
	name     string
	pkg      string
	services []string // full names
}

// descriptorFiles returns the files of the descriptors.
func descriptorFiles() []descriptor {
	var files []descriptor
	_ = eachField(descriptors, func(f protobufField) { files = append(files, newDescriptor(f.data)) }) // the descriptors are valid
	return files
}

func newDescriptor(data []byte) descriptor {
	file := descriptor{data: data}
	_ = eachField(data, func(f protobufField) {
		switch f.number {
		case 1:
			file.name = string(f.data)
		case 2:
			file.pkg = string(f.data)
		case 6:
			file.services = append(file.services, file.pkg+"."+declaredName(f.data))
		}
	})
	return file
}

// declares reports whether a file declares a symbol: a message, field, enum, value, service or method.
func (d *descriptor) declares(symbol string) bool {
	return declares(fileKind, d.data, d.pkg+".", symbol)
}

// descriptorKind is the type of a message of descriptor.proto.
type descriptorKind int

const (
	noKind descriptorKind = iota
	fileKind
	messageKind
	enumKind
	serviceKind
	leafKind // declares nothing
)

// declared returns the kind of what a field of a descriptor declares, or noKind.
func (k descriptorKind) declared(field uint64) descriptorKind {
	return map[descriptorKind]map[uint64]descriptorKind{
		fileKind:    {4: messageKind, 5: enumKind, 6: serviceKind},
		messageKind: {2: leafKind, 3: messageKind, 4: enumKind, 8: leafKind},
		enumKind:    {2: leafKind},
		serviceKind: {2: leafKind},
	}[k][field]
}

// declares reports whether a descriptor declares a symbol. The names in it begin with prefix.
func declares(kind descriptorKind, data []byte, prefix, symbol string) bool {
	found := false
	_ = eachField(data, func(f protobufField) {
		inner := kind.declared(f.number)
		if inner == noKind || found {
			return
		}
		name := prefix + declaredName(f.data)
		next := name + "."
		if inner == enumKind { // the values of an enum are named as if they were beside it
			next = prefix
		}
		found = name == symbol || declares(inner, f.data, next, symbol)
	})
	return found
}

// declaredName returns the field name, which has the same number in all descriptors but that of a file.
func declaredName(data []byte) string {
	name := ""
	_ = eachField(data, func(f protobufField) {
		if f.number == 1 {
			name = string(f.data)
		}
	})
	return name
}
