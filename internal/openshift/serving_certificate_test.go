package openshift

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/cert"
)

func TestServingCertificate(t *testing.T) {
	g := NewWithT(t)
	folder, logged := t.TempDir(), []string{}
	served := NewServingCertificate(folder, funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{}))
	name := func() string {
		certificate, err := served.Get(&tls.ClientHelloInfo{})
		g.Expect(err).NotTo(HaveOccurred())
		leaf, err := x509.ParseCertificate(certificate.Certificate[0])
		g.Expect(err).NotTo(HaveOccurred())
		return leaf.DNSNames[0]
	}
	write := func(host string) {
		certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
		g.Expect(err).NotTo(HaveOccurred())
		for file, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
			g.Expect(os.WriteFile(filepath.Join(folder, file), content, 0o600)).To(Succeed())
		}
	}
	for _, step := range []struct {
		change func()
		want   string
		logs   int
	}{
		{func() {}, "localhost", 0},
		{func() { write("a.example.com") }, "a.example.com", 0},
		{func() { write("b.example.com") }, "b.example.com", 0},
		{func() { _ = os.WriteFile(filepath.Join(folder, "tls.crt"), []byte("broken"), 0o600) }, "b.example.com", 1},
		{func() {}, "b.example.com", 1},
		{func() { // a rotation is half done: the certificate is new, but the key is not
			_, key, _ := cert.GenerateSelfSignedCertKey("other", nil, nil)
			write("half.example.com")
			_ = os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600)
		}, "b.example.com", 2},
		{func() { write("c.example.com") }, "c.example.com", 2},
		{func() { _ = os.Remove(filepath.Join(folder, "tls.key")) }, "c.example.com", 2},
	} {
		step.change()
		if got := name(); got != step.want || len(logged) != step.logs {
			t.Errorf("got %s, want %s; logged %q", got, step.want, logged)
		}
	}
	if len(logged) > 0 && !strings.Contains(logged[0], folder) {
		t.Errorf("logged %s", logged[0])
	}
}

func TestServingCertificate_selfSignedWithoutFolder(t *testing.T) {
	served := NewServingCertificate("", funcr.New(func(_, line string) { t.Error(line) }, funcr.Options{}))
	first, err := served.Get(nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	if second, err := served.Get(nil); err != nil || first != second {
		t.Errorf("the second certificate is different: %v", err)
	}
}
