package controls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Applied lists the controls that changed a response, so that users can distinguish the response from a gateway's.
type Applied []appliedControl

type appliedControl struct {
	name     string
	value    any
	isHidden bool // only in X-Echo-Applied
}

// Applied returns the controls that are set.
func (c Controls) Applied() Applied {
	var a Applied
	for _, row := range table() {
		if value := row.value(c); value != nil {
			a = append(a, appliedControl{row.name, value, row.isHidden})
		}
	}
	return a
}

// Each calls yield with the name and value of each control. It calls yield once for each value of a list.
func (a Applied) Each(yield func(name, value string)) {
	for _, control := range a {
		if list, ok := control.value.([]string); ok {
			for _, value := range list {
				yield(control.name, value)
			}
			continue
		}
		yield(control.name, fmt.Sprint(control.value))
	}
}

// String returns the value of X-Echo-Applied, such as "status=503, delay=2s".
func (a Applied) String() string {
	var parts []string
	a.Each(func(name, value string) { parts = append(parts, name+"="+value) })
	return strings.Join(parts, ", ")
}

// MarshalJSON implements json.Marshaler. The object preserves the order of the controls.
func (a Applied) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // the caller escapes the whole document
	separator := byte('{')
	for _, control := range a {
		if control.isHidden {
			continue
		}
		b.WriteByte(separator)
		separator = ','
		fmt.Fprintf(&b, "%q:", control.key())
		if err := encoder.Encode(control.value); err != nil {
			return nil, err
		}
	}
	if separator == '{' {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// key returns the control's name in JSON, such as setHeader for set-header.
func (c *appliedControl) key() string {
	name := strings.ReplaceAll(http.CanonicalHeaderKey(c.name), "-", "")
	return strings.ToLower(name[:1]) + name[1:]
}
