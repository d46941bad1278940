package controls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxFaults is the maximum number of faults in the settings.
const maxFaults = 8

// faultSetting is a fault as specified in the settings.
type faultSetting struct {
	Percentage           *int    `json:"percentage"`
	StatusCode           *int    `json:"statusCode"`
	DelayMilliseconds    *int    `json:"delayMilliseconds"`
	MaxDelayMilliseconds *int    `json:"maxDelayMilliseconds"`
	Connection           *string `json:"connection"`
	Failures             *int    `json:"failures"`
}

// ParseFaults parses the list of faults. Errors begin with the path of the field, such as faults[0].percentage.
func ParseFaults(text string) ([]Fault, error) {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf(`not a list such as [{"percentage": 30, "statusCode": 503}]: %w`, err)
	}
	if len(list) > maxFaults {
		return nil, fmt.Errorf("there are %d faults, but at most %d are allowed", len(list), maxFaults)
	}
	faults := make([]Fault, len(list))
	for i, element := range list {
		parsed, err := parseFault(element)
		if err != nil {
			return nil, fmt.Errorf("faults[%d]%w", i, err)
		}
		faults[i] = parsed
	}
	return faults, nil
}

// parseFault parses a fault. Errors begin with the rest of the field's path, followed by a colon.
func parseFault(data []byte) (Fault, error) {
	var s faultSetting
	if err := decodeStrictly(data, &s); err != nil {
		return Fault{}, fmt.Errorf(": %w", err)
	}
	return s.fault()
}

// decodeStrictly decodes JSON. It rejects unknown fields, and data after the JSON value.
func decodeStrictly(data []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is unexpected data after the list")
	}
	return nil
}

func (s *faultSetting) fault() (Fault, error) {
	if s.StatusCode == nil && s.DelayMilliseconds == nil && s.MaxDelayMilliseconds == nil && s.Connection == nil {
		return Fault{}, errors.New(": requires statusCode, delayMilliseconds, maxDelayMilliseconds, or connection")
	}
	longest := int(MaxDelay / time.Millisecond)
	for _, err := range []error{
		checkRange("percentage", s.Percentage, 1, 100),
		checkRange("statusCode", s.StatusCode, 200, 599),
		checkRange("delayMilliseconds", s.DelayMilliseconds, 0, longest),
		checkRange("maxDelayMilliseconds", s.MaxDelayMilliseconds, 0, longest),
		checkRange("failures", s.Failures, 1, maxFailures),
		s.checkConnection(),
	} {
		if err != nil {
			return Fault{}, err
		}
	}
	f := Fault{percentage: valueOf(s.Percentage), failures: valueOf(s.Failures), status: valueOf(s.StatusCode),
		delay: milliseconds(s.DelayMilliseconds), delayUpTo: milliseconds(s.MaxDelayMilliseconds),
		delays: s.DelayMilliseconds != nil || s.MaxDelayMilliseconds != nil, connection: s.connection()}
	if s.MaxDelayMilliseconds != nil && f.delayUpTo < f.delay {
		return f, errors.New(".maxDelayMilliseconds: less than delayMilliseconds")
	}
	return f, nil
}

func (s *faultSetting) checkConnection() error {
	switch {
	case s.Connection == nil, *s.Connection == "Truncate":
		return nil
	case *s.Connection != "Reset":
		return fmt.Errorf(".connection: %q is neither Reset nor Truncate", *s.Connection)
	case s.StatusCode != nil:
		return errors.New(".statusCode: connection Reset sends no response")
	}
	return nil
}

func (s *faultSetting) connection() ConnectionFault {
	switch valueOf(s.Connection) {
	case "Reset":
		return ConnectionReset
	case "Truncate":
		return ConnectionTruncate
	}
	return ""
}

func checkRange(name string, value *int, least, most int) error {
	if value != nil && (*value < least || *value > most) {
		return fmt.Errorf(".%s: %d is not from %d to %d", name, *value, least, most)
	}
	return nil
}

func milliseconds(value *int) time.Duration { return time.Duration(valueOf(value)) * time.Millisecond }

// valueOf returns the value of a field, or zero if the field is absent.
func valueOf[T any](field *T) T {
	if field == nil {
		return *new(T)
	}
	return *field
}
