package apiserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
)

// codec reads and writes a watch's events. The API server sends events as JSON lines or as length-prefixed protobuf messages.
type codec struct {
	scheme   *runtime.Scheme
	protobuf bool
}

func newCodec(scheme *runtime.Scheme, answer *http.Response) codec {
	return codec{scheme, strings.Contains(answer.Header.Get("Content-Type"), "protobuf")}
}

// frames returns a function that reads the next frame from a stream and strips the length prefix.
func (c codec) frames(stream io.Reader) func() ([]byte, error) {
	if !c.protobuf {
		lines := json.NewDecoder(stream)
		return func() ([]byte, error) {
			var frame json.RawMessage
			err := lines.Decode(&frame)
			return frame, err
		}
	}
	return func() ([]byte, error) {
		var length [4]byte
		if _, err := io.ReadFull(stream, length[:]); err != nil {
			return nil, err
		}
		frame := make([]byte, binary.BigEndian.Uint32(length[:]))
		_, err := io.ReadFull(stream, frame)
		return frame, err
	}
}

// framed returns a frame with its length prefix or newline.
func (c codec) framed(frame []byte) []byte {
	if !c.protobuf {
		return append(bytes.Clone(frame), '\n')
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
}

type watchEvent struct {
	kind   watch.EventType
	object runtime.Object
}

// decode returns the event in a frame.
func (c codec) decode(frame []byte) (watchEvent, error) {
	event := &metav1.WatchEvent{}
	var err error
	if c.protobuf {
		err = event.Unmarshal(frame)
	} else {
		err = json.Unmarshal(frame, event)
	}
	if err != nil {
		return watchEvent{}, fmt.Errorf("reading an event: %w", err)
	}
	object, _, err := serializer.NewCodecFactory(c.scheme).UniversalDeserializer().Decode(event.Object.Raw, nil, nil)
	return watchEvent{watch.EventType(event.Type), object}, err
}

// encode returns the frame for an event.
func (c codec) encode(event watchEvent) ([]byte, error) {
	var one runtime.Encoder = jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, c.scheme, c.scheme,
		jsonserializer.SerializerOptions{})
	if c.protobuf {
		one = protobuf.NewSerializer(c.scheme, c.scheme)
	}
	raw := &bytes.Buffer{}
	if err := one.Encode(event.object, raw); err != nil {
		return nil, fmt.Errorf("writing an event: %w", err)
	}
	plain := &metav1.WatchEvent{Type: string(event.kind), Object: runtime.RawExtension{Raw: raw.Bytes()}}
	if c.protobuf {
		return plain.Marshal()
	}
	return json.Marshal(map[string]any{"type": plain.Type, "object": json.RawMessage(bytes.TrimSpace(raw.Bytes()))})
}

// expired returns the event that ends a watch whose resource version is too old to continue from.
func expired() watchEvent {
	return watchEvent{watch.Error, &metav1.Status{APIVersion: "v1", Kind: "Status", Status: metav1.StatusFailure,
		Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version"}}
}

// initialEnd returns the bookmark that marks the end of a watch's initial events. like is any object of the watched kind.
func initialEnd(like runtime.Object, version string) (watchEvent, error) {
	mark := like.DeepCopyObject()
	accessor, err := meta.Accessor(mark)
	if err != nil {
		return watchEvent{}, err
	}
	accessor.SetResourceVersion(version)
	accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return watchEvent{watch.Bookmark, mark}, nil
}
