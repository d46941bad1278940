// Package certificates reads PEM certificates. Unlike the standard library, it reports malformed content instead of skipping it.
package certificates

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

const (
	kind = "CERTIFICATE"
	// byteOrderMark, which some editors write at the start of a file, would hide the first PEM block.
	byteOrderMark = "\xef\xbb\xbf"
)

// IsEmpty reports whether a file contains only whitespace.
func IsEmpty(file []byte) bool { return len(bytes.TrimSpace(withoutMark(file))) == 0 }

// Parse returns the certificates in a file, or an error if there are none.
func Parse(file []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	file = withoutMark(file)
	blocks, begun := 0, bytes.Count(file, []byte("-----BEGIN "))
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		blocks++
		if block.Type != kind && strings.HasSuffix(block.Type, kind) {
			return nil, fmt.Errorf("block %d is a %s, which is not supported: write it as a %s", blocks, block.Type, kind)
		}
		if block.Type != kind {
			continue // such as a private key
		}
		each, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("block %d is not a certificate: %w", blocks, err)
		}
		all = append(all, each)
	}
	if blocks != begun {
		return nil, fmt.Errorf("%d of its %d blocks are not PEM: each -----BEGIN and -----END line must be complete and not indented",
			begun-blocks, begun)
	}
	if len(all) == 0 {
		return nil, errors.New("it contains no PEM certificate")
	}
	return all, nil
}

// Pool returns a pool that trusts the certificates in a file.
func Pool(file []byte) (*x509.CertPool, error) {
	all, err := Parse(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, each := range all {
		pool.AddCert(each)
	}
	return pool, nil
}

// Pair returns the certificate from tls.crt together with the private key from tls.key.
func Pair(certificates, key []byte) (tls.Certificate, error) {
	key = withoutMark(key)
	pair, err := tls.X509KeyPair(withoutMark(certificates), key)
	if err != nil && !strings.Contains(err.Error(), "does not match public key") {
		return pair, fmt.Errorf("keys tls.crt and tls.key are not a PEM certificate and its private key: %s",
			strings.TrimPrefix(err.Error(), "tls: "))
	}
	chain, problem := Parse(certificates)
	switch {
	case problem != nil:
		return pair, fmt.Errorf("key tls.crt: %w", problem)
	case err == nil:
		return pair, nil
	}
	for i, each := range chain {
		if _, err := tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: each.Raw}), key); err == nil {
			return pair, fmt.Errorf("key tls.crt: the certificate for the private key is number %d, but must be the first: put it before its authorities",
				i+1)
		}
	}
	return pair, errors.New("keys tls.crt and tls.key do not match")
}

func withoutMark(file []byte) []byte { return bytes.TrimPrefix(file, []byte(byteOrderMark)) }
