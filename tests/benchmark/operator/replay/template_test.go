package replay

import (
	"fmt"
	"strings"
	"testing"
)

const (
	recordedUID   = "11111111-1111-1111-1111-111111111111"
	recordedChild = "22222222-2222-2222-2222-222222222222"
	otherUID      = "33333333-3333-3333-3333-333333333333"
	otherChild    = "44444444-4444-4444-4444-444444444444"
)

func object(uid, version string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"managedFields":[{"k":{"\"uid\":\"x\"":{}}}],"resourceVersion":"%s","uid":"%s"}}`, version, uid)
}

// inProtobuf returns the beginning of a protobuf-encoded object, with its name, UID, and resource version.
func inProtobuf(name, uid, version string) string {
	return "k8s\x00\x0a" + string(rune(len(name))) + name + "\x2a\x24" + uid + "\x32" + string(rune(len(version))) + version + "\x38\x01"
}

func TestTemplate(t *testing.T) {
	writes := []Write{
		{Method: "PATCH", URI: "/echoes/echo-99999", ContentType: "application/merge-patch+json",
			Body: []byte(`{"metadata":{"finalizers":["f"],"resourceVersion":"100"}}`), Answer: object(recordedUID, "101")},
		{Method: "POST", URI: "/deployments", ContentType: "application/vnd.kubernetes.protobuf",
			Body: []byte(inProtobuf("echo-99999", recordedUID, "100")), Answer: []byte(inProtobuf("echo-99999", recordedChild, "102"))},
		{Method: "PATCH", URI: "/deployments/echo-99999", ContentType: "application/apply-patch+yaml",
			Body: []byte(`{"metadata":{"resourceVersion":"102","uid":"` + recordedChild + `"}}`), Answer: []byte(`{}`)},
		{Method: "PATCH", URI: "/services/echo-99999", ContentType: "application/apply-patch+yaml",
			Body: []byte(`{"metadata":{"name":"echo-99999","resourceVersion":"1"}}`), Answer: []byte(`{}`)},
		{Method: "PATCH", URI: "/echoes/echo-99999/status", ContentType: "application/merge-patch+json",
			Body: []byte(`{"metadata":{"resourceVersion":"101"},"status":{"url":"http://echo-99999"}}`), Answer: object(recordedUID, "103")},
	}
	template, err := NewTemplate("echo-99999", object(recordedUID, "100"), writes)
	if err != nil {
		t.Fatal(err)
	}
	answers := make(Answers, 1+len(writes))
	if err := answers[0].Keep(object(otherUID, "7"), []Value{UID, Version}); err != nil {
		t.Fatal(err)
	}
	given := [][]byte{object(otherUID, "8"), []byte(inProtobuf("echo-00001", otherChild, "9")), []byte(`{}`), []byte(`{}`), []byte(`{}`)}
	wanted := []string{
		`PATCH /echoes/echo-00001 {"metadata":{"finalizers":["f"],"resourceVersion":"7"}}`,
		`POST /deployments ` + inProtobuf("echo-00001", otherUID, "100"),
		`PATCH /deployments/echo-00001 {"metadata":{"resourceVersion":"9","uid":"` + otherChild + `"}}`,
		`PATCH /services/echo-00001 {"metadata":{"name":"echo-00001","resourceVersion":"1"}}`,
		`PATCH /echoes/echo-00001/status {"metadata":{"resourceVersion":"8"},"status":{"url":"http://echo-00001"}}`,
	}
	for i, r := range template.Requests {
		request := fmt.Sprintf("%s %s %s", r.Method, Append(nil, r.URI, "echo-00001", answers), Append(nil, r.Body, "echo-00001", answers))
		if request != wanted[i] {
			t.Errorf("request %d is\n%q, not\n%q", i, request, wanted[i])
		}
		if err := answers[i+1].Keep(given[i], r.Needs); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

func TestTemplateOfUnknownVersion(t *testing.T) {
	_, err := NewTemplate("echo-99999", object(recordedUID, "100"), []Write{{Method: "PATCH", URI: "/services/echo-99999",
		ContentType: "application/json", Body: []byte(`{"metadata":{"resourceVersion":"55"}}`)}})
	if err == nil || !strings.Contains(err.Error(), "was not written before") {
		t.Errorf("the error is %v", err)
	}
}

func TestKeepNothing(t *testing.T) {
	if err := new(Known).Keep([]byte(`{"kind":"Status"}`), []Value{Version}); err == nil {
		t.Error("a response without a version was accepted")
	}
}
