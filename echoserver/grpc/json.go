package grpc

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// jsonCodec is Connect's JSON codec, but with short errors. protojson errors quote values from the message, which can be long.
type jsonCodec struct{}

// Name implements connect.Codec.
func (jsonCodec) Name() string { return "json" }

// Marshal implements connect.Codec.
func (jsonCodec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, notAMessage(message)
	}
	return protojson.Marshal(m)
}

// Unmarshal implements connect.Codec. It ignores unknown fields, which clients of a newer API version may send.
func (jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return notAMessage(message)
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
		return errors.New(exchange.Truncate(err.Error()))
	}
	return nil
}

func notAMessage(message any) error { return fmt.Errorf("%T is not a protobuf message", message) }
