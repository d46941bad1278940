package main

import (
	"encoding/binary"
	"errors"
	"strings"
)

// The wire types of protobuf. Groups are not supported.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

var errProtobuf = errors.New("the message is not valid protobuf")

// protobuf is a message in the wire format of protobuf. Its methods append fields. As in proto3, the default value is omitted.
type protobuf []byte

func (p *protobuf) tag(number, wireType uint64) { *p = binary.AppendUvarint(*p, number<<3|wireType) }

func (p *protobuf) varint(number, value uint64) {
	if value != 0 {
		p.tag(number, wireVarint)
		*p = binary.AppendUvarint(*p, value)
	}
}

func (p *protobuf) bool(number uint64, value bool) {
	if value {
		p.varint(number, 1)
	}
}

// text appends a string. Invalid UTF-8 is replaced, because clients reject a message that contains it.
func (p *protobuf) text(number uint64, value string) {
	if value != "" {
		p.message(number, []byte(strings.ToValidUTF8(value, "\uFFFD")))
	}
}

// message appends an embedded message, also if it is empty.
func (p *protobuf) message(number uint64, value []byte) {
	p.header(number, len(value))
	*p = append(*p, value...)
}

// header appends what precedes the bytes of a field.
func (p *protobuf) header(number uint64, size int) {
	p.tag(number, wireBytes)
	*p = binary.AppendUvarint(*p, uint64(size)) // a length is not negative
}

// protobufField is a field of a message that was received.
type protobufField struct {
	number   uint64
	wireType uint64
	varint   uint64 // of wireVarint
	data     []byte // of wireBytes; part of the message
}

// is reports whether the field has a number and a wire type. A known number with another wire type is an unknown field.
func (f protobufField) is(number, wireType uint64) bool {
	return f.number == number && f.wireType == wireType
}

// eachField calls visit with each field of a message. It may have done so before it returns an error.
func eachField(message []byte, visit func(protobufField)) error {
	for len(message) > 0 {
		field, rest, ok := cutField(message)
		if !ok {
			return errProtobuf
		}
		visit(field)
		message = rest
	}
	return nil
}

// cutField returns the first field of a message, and the fields after it.
func cutField(message []byte) (field protobufField, rest []byte, ok bool) {
	tag, n := binary.Uvarint(message)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return field, nil, false
	}
	field, message = protobufField{number: tag >> 3, wireType: tag & 7}, message[n:]
	size := uint64(0)
	switch field.wireType {
	case wireVarint:
		field.varint, n = binary.Uvarint(message)
		return field, message[max(n, 0):], n > 0
	case wireBytes:
		if size, n = binary.Uvarint(message); n <= 0 {
			return field, nil, false
		}
		message = message[n:]
	case wireFixed64:
		size = 8
	case wireFixed32:
		size = 4
	default:
		return field, nil, false
	}
	if size > uint64(len(message)) {
		return field, nil, false
	}
	field.data = message[:size]
	return field, message[size:], true
}
