package describe

import (
	"bytes"
	"strings"
)

// These limits apply to the length, in bytes, of all words that isSecretWord and isWordOfKey recognize. Each word is at least as long as
// the first limit and shorter than the second.
const (
	minSecretWord = 3
	maxSecretWord = 16
)

// isSecretName reports whether the name of a header contains a word for a secret. It allocates no memory, because the server calls it for
// every header of every request.
func isSecretName(name string) bool {
	if strings.HasPrefix(name, "X-Amzn-Oidc-") { // the user's claims and tokens
		return true
	}
	previous := ""
	for begin := 0; begin <= len(name); {
		end := begin
		for end < len(name) && name[end] != '-' && name[end] != '_' {
			end++
		}
		word := name[begin:end]
		if len(word) >= minSecretWord && isSecretWord(word, previous) {
			return true
		}
		previous = word
		begin = end + 1
	}
	return false
}

// isSecretWord reports whether a word, in upper or lower case and in the singular or plural, denotes a secret. The word "key" denotes a
// secret only after certain other words, such as "api".
func isSecretWord(word, previous string) bool {
	var buffer [maxSecretWord]byte
	switch lower := lowerEnd(buffer[:], word); string(lower) {
	case "assertion", "authorization", "cookie", "credential", "dpop", "jwt", "passphrase", "passwd", "pwd", "session":
		return true
	case "key":
		return isWordOfKey(lowerEnd(buffer[:], previous))
	default:
		return endsLikeSecret(lower)
	}
}

// endsLikeSecret reports whether a compound word, such as csrftoken, ends in a word for a secret.
func endsLikeSecret(lower []byte) bool {
	switch lower[len(lower)-1] {
	case 'd':
		return bytes.HasSuffix(lower, []byte("password"))
	case 'n':
		return bytes.HasSuffix(lower, []byte("token"))
	case 't':
		return bytes.HasSuffix(lower, []byte("secret"))
	case 'y':
		return bytes.HasSuffix(lower, []byte("apikey"))
	}
	return false
}

func isWordOfKey(lower []byte) bool {
	switch string(lower) {
	case "acces", "account", "admin", "api", "auth", "customer", "encryption", "function", "license", "master", "private", "shared",
		"signing", "subscription": // without a final s: acces stands for access
		return true
	}
	return false
}

// lowerEnd returns as much of the end of a word as fits into the buffer, in lower case and without a final s.
func lowerEnd(buffer []byte, word string) []byte {
	n := copy(buffer, word[max(0, len(word)-len(buffer)):])
	for i, c := range buffer[:n] {
		if 'A' <= c && c <= 'Z' {
			buffer[i] = c + 'a' - 'A'
		}
	}
	return bytes.TrimSuffix(buffer[:n], []byte("s"))
}
