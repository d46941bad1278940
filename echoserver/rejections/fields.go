package rejections

import (
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// maxName is the maximum length, in bytes, of a field name in the log.
const maxName = 64

// explainFields describes the first invalid field. It mentions neither the value nor an invalid name, because either may be a secret.
func (h requestHeader) explainFields() (reason, detail string) {
	for i, each := range h.fields {
		bare := strings.TrimRight(each.name, " \t")
		switch {
		case !httpguts.ValidHeaderFieldName(bare):
			return ReasonField, "line " + strconv.Itoa(i+2) + " does not begin with a valid name and a colon"
		case bare != each.name:
			return ReasonField, "whitespace follows the name " + shown(bare)
		case !httpguts.ValidHeaderFieldValue(each.value):
			return ReasonField, "the value of " + shown(bare) + " contains a control character"
		}
	}
	return "", ""
}

func shown(name string) string { return name[:min(len(name), maxName)] }

func (h requestHeader) explainHost() (reason, detail string) {
	hosts := h.values("Host")
	switch {
	case len(hosts) > 1:
		return ReasonHost, "there is more than one Host"
	case len(hosts) == 1 && !httpguts.ValidHostHeader(hosts[0]):
		return ReasonHost, "Host contains a character that is not allowed in a host"
	case len(hosts) == 0 && h.version != "HTTP/1.0" && h.method != http.MethodConnect:
		return ReasonHost, "there is no Host, which " + h.version + " requires"
	}
	return "", ""
}

// explainLengths describes the first problem with Content-Length or Trailer.
func (h requestHeader) explainLengths() (reason, detail string) {
	lengths := h.values("Content-Length")
	for _, each := range lengths {
		_, err := strconv.ParseUint(each, 10, 63)
		switch {
		case each != lengths[0]:
			return ReasonContentLength, "Content-Length has several values"
		case err != nil:
			return ReasonContentLength, "Content-Length is not a number of bytes"
		}
	}
	if len(h.values("Trailer")) > 0 {
		return ReasonField, "Trailer names a field that is not allowed in trailers"
	}
	return "", ""
}

func (h requestHeader) values(name string) (values []string) {
	for _, each := range h.fields {
		if strings.EqualFold(each.name, name) {
			values = append(values, each.value)
		}
	}
	return values
}
