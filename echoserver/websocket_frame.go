package main

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// The opcodes of frames (RFC 6455, 5.2).
const (
	opcodeContinuation = 0x0
	opcodeText         = 0x1
	opcodeBinary       = 0x2
	opcodeClose        = 0x8
	opcodePing         = 0x9
	opcodePong         = 0xA
)

const (
	finalBit     = 0x80
	reservedBits = 0x70
	opcodeBits   = 0x0F
	maskBit      = 0x80
	lengthBits   = 0x7F
	length16     = 126 // the length follows in 2 bytes
	length64     = 127 // the length follows in 8 bytes
	maskSize     = 4
	// maxControl is the maximum size of the payload of a control frame.
	maxControl = 125
	// maxServerHeader is the maximum size of the header of a frame that is not masked.
	maxServerHeader = 10
)

// webSocketFrame is a frame that a client sends.
type webSocketFrame struct {
	final, reserved, masked bool
	opcode                  byte
	key                     uint32 // of the next byte of the payload
	left                    int64  // how much of the payload is not read yet; negative if the header is not valid
	shortest                bool   // the length is encoded in the fewest bytes possible
}

// frameHeaderSize returns the size of a frame's header, whose second byte is given.
func frameHeaderSize(second byte) int {
	size := 2
	if second&maskBit != 0 {
		size += maskSize
	}
	switch second & lengthBits {
	case length16:
		size += 2
	case length64:
		size += 8
	}
	return size
}

// parseFrame returns the frame with this header, which is complete.
func parseFrame(header []byte) webSocketFrame {
	f := webSocketFrame{
		final:    header[0]&finalBit != 0,
		reserved: header[0]&reservedBits != 0,
		opcode:   header[0] & opcodeBits,
		masked:   header[1]&maskBit != 0,
	}
	switch short := header[1] & lengthBits; short {
	case length16:
		f.left = int64(binary.BigEndian.Uint16(header[2:]))
		f.shortest = f.left >= length16
	case length64:
		f.left = int64(binary.BigEndian.Uint64(header[2:])) // the highest bit must be 0
		f.shortest = f.left > 0xFFFF
	default:
		f.left, f.shortest = int64(short), true
	}
	if f.masked {
		f.key = binary.LittleEndian.Uint32(header[len(header)-maskSize:])
	}
	return f
}

func (f *webSocketFrame) isControl() bool { return f.opcode >= opcodeClose }

// check returns why a frame is not allowed, nil if it is. size is what the message has so far, negative outside of a message.
func (f *webSocketFrame) check(size int) error {
	switch {
	case f.reserved:
		return violation("a reserved bit is set")
	case f.opcode > opcodeBinary && f.opcode < opcodeClose || f.opcode > opcodePong:
		return violation(fmt.Sprintf("the opcode %d is reserved", f.opcode))
	case !f.masked:
		return violation("a frame from a client must be masked")
	case !f.shortest:
		return violation("the length of a frame must be encoded in the fewest bytes")
	case f.isControl():
		return f.checkControl()
	}
	return f.checkData(size)
}

func (f *webSocketFrame) checkControl() error {
	switch {
	case !f.final:
		return violation("a control frame must not be fragmented")
	case f.left > maxControl:
		return violation("a control frame must not exceed 125 bytes")
	}
	return nil
}

func (f *webSocketFrame) checkData(size int) error {
	switch {
	case f.opcode == opcodeContinuation && size < 0:
		return violation("there is no message to continue")
	case f.opcode != opcodeContinuation && size >= 0:
		return violation("the message before is not complete")
	case f.left > maxMessage-int64(max(size, 0)):
		return &webSocketClose{code: closeTooBig, reason: fmt.Sprintf("a message must not exceed %d bytes", maxMessage)}
	}
	return nil
}

// appendFrameHeader appends the header of an unfragmented frame that is not masked.
func appendFrameHeader(header []byte, opcode byte, length int) []byte {
	header = append(header, finalBit|opcode)
	switch {
	case length < length16:
		return append(header, byte(length))
	case length <= 0xFFFF:
		return binary.BigEndian.AppendUint16(append(header, length16), uint16(length))
	}
	return binary.BigEndian.AppendUint64(append(header, length64), uint64(length))
}

// unmask decodes part of a payload in place, and returns the key of the next part. The lowest byte of the key is that of the first byte.
func unmask(part []byte, key uint32) uint32 {
	wide := uint64(key)<<32 | uint64(key)
	for ; len(part) >= 8; part = part[8:] {
		binary.LittleEndian.PutUint64(part, binary.LittleEndian.Uint64(part)^wide)
	}
	for i := range part {
		part[i] ^= byte(key)
		key = bits.RotateLeft32(key, -8)
	}
	return key
}
