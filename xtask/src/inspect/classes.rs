//! What kinds of machine instructions there are, how many bytes each moves and how many floating-point operations it does.
//!
//! Source of the names: "Instruction Set Reference" in NVIDIA's CUDA Binary Utilities. An instruction that is not known here counts as
//! [`Class::Other`], which the tables show.

use std::fmt;

/// A kind of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Tensor,
    Fp32,
    Fp64,
    Fp16,
    Special,
    Conversion,
    Integer,
    Move,
    GlobalLoad,
    GlobalStore,
    SharedLoad,
    SharedStore,
    AsyncCopy,
    Atomic,
    Local,
    Constant,
    Warp,
    Barrier,
    Control,
    Other,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Class::Tensor => "tensor cores",
            Class::Fp32 => "f32",
            Class::Fp64 => "f64",
            Class::Fp16 => "f16 and bf16",
            Class::Special => "special (MUFU)",
            Class::Conversion => "conversion",
            Class::Integer => "integer and logic",
            Class::Move => "moves",
            Class::GlobalLoad => "global loads",
            Class::GlobalStore => "global stores",
            Class::SharedLoad => "shared loads",
            Class::SharedStore => "shared stores",
            Class::AsyncCopy => "asynchronous copies",
            Class::Atomic => "atomics",
            Class::Local => "local memory",
            Class::Constant => "constants",
            Class::Warp => "warp operations",
            Class::Barrier => "barriers and fences",
            Class::Control => "control",
            Class::Other => "other",
        })
    }
}

/// The class of an instruction such as `LDG.E.128.CONSTANT`.
pub fn class(opcode: &str) -> Class {
    let (name, modifiers) = opcode.split_once('.').unwrap_or((opcode, ""));
    match name {
        "HMMA" | "IMMA" | "DMMA" | "BMMA" | "QMMA" | "OMMA" | "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" | "UTCHMMA"
        | "UTCIMMA" | "UTCQMMA" | "UTCOMMA" => Class::Tensor,
        "MUFU" => Class::Special,
        "F2F" | "F2I" | "I2F" | "I2I" | "I2IP" | "F2FP" | "I2FP" | "F2IP" | "FRND" => Class::Conversion,
        "MOV" | "UMOV" | "SEL" | "USEL" | "S2R" | "S2UR" | "CS2R" | "R2UR" | "R2P" | "P2R" | "UP2UR" | "R2B"
        | "B2R" => Class::Move,
        // Moves, whatever the unit that does them.
        "IMAD" if modifiers.starts_with("MOV") => Class::Move,
        "LDG" | "LD" => Class::GlobalLoad,
        "STG" | "ST" => Class::GlobalStore,
        "LDS" | "LDSM" => Class::SharedLoad,
        "STS" | "STSM" => Class::SharedStore,
        "LDGSTS" | "UBLKCP" | "UBLKRED" | "UBLKPF" | "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UTMAPF" | "UTMACCTL"
        | "UTMACMDFLUSH" => Class::AsyncCopy,
        "ATOM" | "ATOMG" | "ATOMS" | "RED" | "REDG" | "REDAS" => Class::Atomic,
        "LDL" | "STL" => Class::Local,
        "LDC" | "ULDC" | "LDCU" => Class::Constant,
        "SHFL" | "VOTE" | "VOTEU" | "MATCH" | "REDUX" | "CREDUX" | "MOVM" | "ELECT" => Class::Warp,
        "BAR" | "SYNCS" | "MEMBAR" | "DEPBAR" | "LDGDEPBAR" | "ERRBAR" | "FENCE" | "WARPGROUP" | "WARPSYNC"
        | "ARRIVES" | "UCGABAR_ARV" | "UCGABAR_WAIT" | "CCTL" | "CCTLL" | "ACQBULK" | "USETMAXREG" | "UTMACMDWAIT"
        | "CGAERRBAR" => Class::Barrier,
        "BRA" | "BRX" | "BRXU" | "JMP" | "JMX" | "EXIT" | "RET" | "CALL" | "BSSY" | "BSYNC" | "BREAK" | "BMOV"
        | "NOP" | "YIELD" | "NANOSLEEP" | "BPT" | "KILL" | "PREEXIT" | "RPCMOV" | "WARPSYNC_ALL" => Class::Control,
        _ => by_letters(name),
    }
}

/// Arithmetic has many names; the first letters tell the type. A leading `U` means the warp's own (uniform) unit.
fn by_letters(name: &str) -> Class {
    const INTEGER: [&str; 22] = [
        "IADD", "IMAD", "ISETP", "ISCADD", "IABS", "IMNMX", "VIMNMX", "VIADD", "IDP", "LEA", "LOP", "PLOP", "SHF",
        "SHL", "SHR", "PRMT", "POPC", "FLO", "BREV", "BMSK", "SGXT", "VABSDIFF",
    ];
    let start = |letters: &[&str]| letters.iter().any(|start| name.starts_with(start));
    let integer = name.strip_prefix('U').unwrap_or(name);
    if INTEGER.iter().any(|start| integer.starts_with(start)) {
        Class::Integer
    } else if start(&["FADD", "FFMA", "FMUL", "FMNMX", "FSEL", "FSET", "FCHK", "FSWZADD", "UFADD", "UFFMA", "UFMUL"]) {
        Class::Fp32
    } else if start(&["DADD", "DFMA", "DMUL", "DSET", "DMNMX"]) {
        Class::Fp64
    } else if start(&["HADD", "HFMA", "HMUL", "HSET", "HMNMX"]) {
        Class::Fp16
    } else {
        Class::Other
    }
}

/// Bytes that one thread's instruction moves between registers and memory; 0 where it does not, or where only the running program
/// knows (TMA).
pub fn bytes(opcode: &str) -> u32 {
    let mut parts = opcode.split('.');
    let name = parts.next().unwrap_or_default();
    let modifiers: Vec<&str> = parts.collect();
    let has = |modifier: &str| modifiers.contains(&modifier);
    match class(opcode) {
        // 8 rows of 16 bytes a matrix, 4 bytes of it for each thread.
        Class::SharedLoad | Class::SharedStore if matches!(name, "LDSM" | "STSM") => match (has("4"), has("2")) {
            (true, _) => 16,
            (_, true) => 8,
            _ => 4,
        },
        Class::GlobalLoad
        | Class::GlobalStore
        | Class::SharedLoad
        | Class::SharedStore
        | Class::Local
        | Class::Atomic => width(&modifiers),
        Class::AsyncCopy if name == "LDGSTS" => width(&modifiers),
        _ => 0,
    }
}

fn width(modifiers: &[&str]) -> u32 {
    let widths = [("256", 32), ("128", 16), ("64", 8), ("U16", 2), ("S16", 2), ("16", 2), ("U8", 1), ("S8", 1)];
    widths.into_iter().find(|(name, _)| modifiers.contains(name)).map_or(4, |(_, bytes)| bytes)
}

/// Floating-point operations of one thread's instruction, a fused multiply-add being two. A tensor instruction's are divided by the
/// threads that do it together: 32, or 128 where a warp group does. Special functions, comparisons and conversions count nothing.
pub fn operations(opcode: &str) -> f64 {
    let (name, modifiers) = opcode.split_once('.').unwrap_or((opcode, ""));
    match name {
        "FFMA" | "DFMA" | "FADD2" | "FMUL2" | "HADD2" | "HMUL2" => 2.0,
        "FADD" | "FMUL" | "DADD" | "DMUL" => 1.0,
        "FFMA2" | "HFMA2" => 4.0,
        "HMMA" | "DMMA" | "QMMA" => product(modifiers).map_or(0.0, |product| 2.0 * product / 32.0),
        "HGMMA" | "QGMMA" => product(modifiers).map_or(0.0, |product| 2.0 * product / 128.0),
        // Immediate forms, FADD32I and the like.
        _ if name.starts_with("FFMA") || name.starts_with("DFMA") => 2.0,
        _ if name.starts_with("FADD") || name.starts_with("FMUL") => 1.0,
        _ => 0.0,
    }
}

/// m · n · k of `64x256x16`, or of `16816`, which is 16 x 8 x 16.
fn product(modifiers: &str) -> Option<f64> {
    modifiers.split('.').find_map(|part| {
        let numbers: Vec<&str> = part.split('x').collect();
        let numbers = match (numbers.as_slice(), part) {
            ([_, _, _], _) => numbers,
            (_, "884") => vec!["8", "8", "4"],
            ([digits], _) if digits.len() > 3 && digits.starts_with("168") => vec!["16", "8", &digits[3..]],
            _ => return None,
        };
        numbers.into_iter().map(|number| number.parse::<f64>().ok()).product()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_bytes_and_operations() {
        // Instructions as nvdisasm 13.5 prints them, and PTX ISA's meaning of what they come from.
        let cases = [
            ("FFMA", Class::Fp32, 0, 2.0),
            ("FADD.FTZ", Class::Fp32, 0, 1.0),
            ("DFMA", Class::Fp64, 0, 2.0),
            ("HFMA2.BF16_V2", Class::Fp16, 0, 4.0),
            ("MUFU.EX2", Class::Special, 0, 0.0),
            ("F2FP.BF16.F32.PACK_AB", Class::Conversion, 0, 0.0),
            ("IMAD.WIDE.U32", Class::Integer, 0, 0.0),
            ("IMAD.MOV.U32", Class::Move, 0, 0.0),
            ("UIADD3", Class::Integer, 0, 0.0),
            ("PLOP3.LUT", Class::Integer, 0, 0.0),
            ("FLO.U32", Class::Integer, 0, 0.0),
            ("LDG.E.128.CONSTANT", Class::GlobalLoad, 16, 0.0),
            ("LDG.E", Class::GlobalLoad, 4, 0.0),
            ("LDG.E.U16", Class::GlobalLoad, 2, 0.0),
            ("STG.E.64", Class::GlobalStore, 8, 0.0),
            ("LDS.U.128", Class::SharedLoad, 16, 0.0),
            ("LDSM.16.M88.4", Class::SharedLoad, 16, 0.0),
            ("LDGSTS.E.BYPASS.LTC128B.128", Class::AsyncCopy, 16, 0.0),
            ("UTMALDG.2D", Class::AsyncCopy, 0, 0.0),
            ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", Class::Atomic, 4, 0.0),
            ("STL", Class::Local, 4, 0.0),
            ("ULDC.64", Class::Constant, 0, 0.0),
            ("SHFL.BFLY", Class::Warp, 0, 0.0),
            ("SYNCS.PHASECHK.TRANS64.TRYWAIT", Class::Barrier, 0, 0.0),
            ("BRA.U.ANY", Class::Control, 0, 0.0),
            ("HMMA.16816.F32.BF16", Class::Tensor, 0, 2.0 * 16.0 * 8.0 * 16.0 / 32.0),
            ("HMMA.1688.F32.TF32", Class::Tensor, 0, 2.0 * 16.0 * 8.0 * 8.0 / 32.0),
            ("HGMMA.64x256x16.F32.BF16", Class::Tensor, 0, 2.0 * 64.0 * 256.0 * 16.0 / 128.0),
            ("DMMA.8x8x4", Class::Tensor, 0, 2.0 * 8.0 * 8.0 * 4.0 / 32.0),
            ("NEWNAME.X", Class::Other, 0, 0.0),
        ];
        for (opcode, expected, moved, done) in cases {
            assert_eq!((class(opcode), bytes(opcode), operations(opcode)), (expected, moved, done), "{opcode}");
        }
    }
}
