// Bundles the page: what is committed in dist/ is what this makes of src/ and the pinned packages.

import { copyFile, mkdir } from 'node:fs/promises';
import { build } from 'esbuild';

const out = process.argv[2] ?? 'dist';
await mkdir(out, { recursive: true });
await build({
  entryPoints: { app: 'src/main.js' },
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['chrome110', 'firefox115', 'safari16'],
  outdir: out,
  legalComments: 'none',
  logLevel: 'warning',
});
for (const file of ['index.html', 'icon.svg']) await copyFile(`src/${file}`, `${out}/${file}`);
