package main

import (
	"encoding/binary"
	"errors"
	"io"
)

const (
	// maxGRPCMessage is the maximum size of a gRPC message that is received, in bytes.
	maxGRPCMessage = 1 << 20
	// firstStep is how much memory a message gets before any of it has arrived, in bytes.
	firstStep = 4 << 10
)

// errGRPCMessageTooLarge and errNoMemory are the limits that a message can exceed.
var (
	errGRPCMessageTooLarge = grpcErrorf(grpcResourceExhausted, "the message is larger than %d bytes", maxGRPCMessage)
	errNoMemory            = grpcErrorf(grpcResourceExhausted, "the server has no memory for the message")
)

// grpcMemory is what messages take memory from.
type grpcMemory interface {
	take(n int64) bool
	give(n int64)
}

// grpcMessage is a message that was received. It must be released.
type grpcMessage struct {
	data []byte
	held grpcMemory
}

func (m *grpcMessage) release() {
	m.held.give(int64(cap(m.data)))
	m.data = nil
}

// readGRPCMessage reads what follows the first byte of a message, which is its compressed flag.
func readGRPCMessage(flag byte, source io.Reader, held grpcMemory) (*grpcMessage, error) {
	if flag != 0 {
		return nil, grpcErrorf(grpcInternal, "the message is compressed, but the call has no grpc-encoding")
	}
	var length [4]byte
	if _, err := io.ReadFull(source, length[:]); err != nil {
		return nil, withinMessage(err)
	}
	size := int(binary.BigEndian.Uint32(length[:]))
	if size > maxGRPCMessage {
		return nil, errGRPCMessageTooLarge
	}
	m := &grpcMessage{held: held}
	for len(m.data) < size {
		if err := m.readStep(source, size); err != nil {
			m.release()
			return nil, err
		}
	}
	return m, nil
}

// readStep doubles the memory of a message and fills it, so that a length alone costs no memory.
func (m *grpcMessage) readStep(source io.Reader, size int) error {
	before := len(m.data)
	after := min(size, max(firstStep, 2*before))
	if !m.held.take(int64(after)) {
		return errNoMemory
	}
	data := make([]byte, after)
	copy(data, m.data)
	m.release()
	m.data = data
	_, err := io.ReadFull(source, data[before:])
	return withinMessage(err)
}

// withinMessage returns the error for a request that ends within a message.
func withinMessage(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
