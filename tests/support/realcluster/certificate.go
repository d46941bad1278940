package realcluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ApplyCertificate creates a self-signed certificate for the given host names, stores it in a Secret, and returns the certificate. The
// Secret also contains the PEM encoding of the certificate as ca.crt.
func ApplyCertificate(ctx context.Context, k8s client.Client, secret client.ObjectKey, valid time.Duration,
	names ...string) *x509.Certificate {
	GinkgoHelper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(valid)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	Expect(err).NotTo(HaveOccurred())
	key, err := x509.MarshalPKCS8PrivateKey(private)
	Expect(err).NotTo(HaveOccurred())
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	object := &corev1.Secret{
		Namespace: secret.Namespace, Name: secret.Name,
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:              text,
			corev1.TLSPrivateKeyKey:        pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
			corev1.ServiceAccountRootCAKey: text,
		},
	}
	err = k8s.Update(ctx, object)
	if apierrors.IsNotFound(err) {
		err = k8s.Create(ctx, object)
	}
	Expect(err).NotTo(HaveOccurred())
	return template
}
